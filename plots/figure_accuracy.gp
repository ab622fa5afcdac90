# SPDX-License-Identifier: MIT
# Shape: panels of accuracy over time, a line a series, a point an epoch.
#
# Variables set before this text:
#   data       file: for each panel and in it for each series a block (two empty lines between), in it a line for each
#              epoch, the first NaN: seconds until its end, the accuracy then in percent
#   series, names, colours;   panels, panel_names, columns: their number, titles, how many in a row (0: any)
#   base, heading, caption, xlabel, ylabel: texts;   logarithmic 0 or 1;   bottom, top: ends of the y axis
#   drawn 0 where no epoch has an accuracy, so that there is nothing to take a logarithm of

set encoding utf8
set datafile missing 'NaN'
set datafile separator '\t'
set yrange [0:top < 100 ? top : 100]
set ytics nomirror
set xtics autofreq nomirror
set grid linetype 1 linecolor rgb '#dddddd' linewidth 1
set border 3
set xlabel xlabel
if (logarithmic && drawn) { set logscale x } else { set xrange [0:*] }
set format x '%g'
above = series > 4 ? 140.0 : 115.0 # heading and key
across = columns > 0 ? columns : panels < 4 ? panels : int(ceil(sqrt(panels)))
down = int(ceil(real(panels) / across))
wide = across == 1 ? 1000 : 420 * across
high = 270 + (down == 1 ? 400 : 300 * down)
array terminals[3] = [sprintf('pngcairo size %d,%d font "DejaVu Sans,10" noenhanced', wide, high), sprintf('svg size %d,%d font "DejaVu Sans,10" noenhanced background rgb "white"', wide, high), sprintf('pdfcairo size %.1fin,%.1fin font "DejaVu Sans,10" noenhanced', wide / 96.0, high / 96.0)]
array suffixes[3] = ['png', 'svg', 'pdf']
do for [t=1:3] {
    eval 'set terminal '.terminals[t]
    set output base.'.'.suffixes[t]
    set label 2 heading at screen 0.5,1 - 22.0 / high center font ',13'
    set label 1 caption at screen 0.01,70.0 / high left font ',8' textcolor rgb '#555555'
    set key at screen 0.5,1 - 40.0 / high center top horizontal Left reverse maxrows (series > 4 ? 2 : 1) samplen 1.5 spacing 1.1 width 1
    set multiplot layout down,across margins 85.0 / wide,1 - 20.0 / wide,160.0 / high,1 - above / high spacing 60.0 / wide,110.0 / high
    do for [p=1:panels] {
        set title panel_names[p]
        set ylabel (p - 1) % across == 0 ? ylabel : ''
        plot for [i=1:series] data index (p - 1) * series + i - 1 using 1:2 with linespoints notitle pointtype 7 pointsize 0.8 linewidth 2 linecolor rgb colours[i], \
             for [i=1:series] NaN with linespoints title names[i] pointtype 7 linewidth 2 linecolor rgb colours[i]
        unset label 1
        unset label 2
        unset key
    }
    unset multiplot
    unset output
}
