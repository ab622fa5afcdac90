# SPDX-License-Identifier: MIT
# Shape: what processors and storage did over a run, a panel a run: the cores' busy share and, stacked on it, the share that
# was idle for I/O; the GPU's busy share as a line.
#
# Variables set before this text:
#   data       file: for each panel a block (two empty lines between), in it a line for each interval:
#              its end in seconds, CPU, I/O wait, GPU, in percent (NaN: unknown)
#   series, names, colours;   panels, panel_names, columns: their number, titles, how many in a row (0: any)
#   base, heading, caption, xlabel, ylabel: texts;   logarithmic 0 or 1;   bottom, top: ends of the y axis

set encoding utf8
set datafile missing 'NaN'
set datafile separator '\t'
set yrange [0:105]
set ytics nomirror 0,25,100
set xtics autofreq nomirror
set grid ytics linetype 1 linecolor rgb '#dddddd' linewidth 1
set border 3
set xlabel xlabel
set style fill solid 0.85 noborder
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
    set key at screen 0.5,1 - 40.0 / high center top horizontal Left reverse maxrows 1 samplen 1.5 spacing 1.1 width 1
    set multiplot layout down,across margins 85.0 / wide,1 - 20.0 / wide,160.0 / high,1 - 115.0 / high spacing 60.0 / wide,110.0 / high
    do for [p=1:panels] {
        set title panel_names[p]
        set ylabel (p - 1) % across == 0 ? ylabel : ''
        plot data index p-1 using 1:(column(2) + column(3)) with filledcurves y1=0 notitle linecolor rgb '#E69F00', \
             data index p-1 using 1:(column(2)) with filledcurves y1=0 notitle linecolor rgb '#0072B2', \
             data index p-1 using 1:(column(4)) with steps notitle linecolor rgb '#000000' linewidth 1.2, \
             NaN with boxes title 'CPU' linecolor rgb '#0072B2', \
             NaN with boxes title 'I/O wait' linecolor rgb '#E69F00', \
             NaN with lines title 'GPU' linecolor rgb '#000000' linewidth 1.2
        unset label 1
        unset label 2
        unset key
    }
    unset multiplot
    unset output
}
