# SPDX-License-Identifier: MIT
# Shape: panels of grouped bars, one group a value of x, one bar a series; published values as open diamonds.
#
# Variables set before this text:
#   data       file: for each panel a block (two empty lines between), in it a line for each value of x:
#              x, then for each series: value least most published word   (NaN: none; the word stands instead), and a dot
#   panels, panel_names, columns: number of panels, their titles, how many in a row (0: any)
#   rows       values of x, whose names are set as tics of the x axis
#   series, names, colours
#   base, heading, caption, xlabel, ylabel: texts;   logarithmic 0 or 1;   bottom, top: ends of the y axis
#   turned     1 where the names of x are turned, so that they need room
#   published 1 where a published value is drawn, else 0

set encoding utf8
set datafile missing 'NaN'
set datafile separator '\t'
set style fill solid 0.9 border rgb '#333333'
set yrange [bottom:top]
set xrange [-0.6:rows - 0.4]
set ytics nomirror
if (logarithmic) { set logscale y }
# Below two decades powers of ten are too few: 2 and 5 stand between them.
if (logarithmic && top / bottom < 100) {
    set ytics ()
    do for [k = int(floor(log10(bottom))):int(ceil(log10(top)))] { do for [m in "1 2 5"] { set ytics add (sprintf("%g", m * 10.0 ** k) m * 10.0 ** k) } }
}
set grid ytics linetype 1 linecolor rgb '#dddddd' linewidth 1
set border 3
set format y '%g'
step = 0.84 / series
centre(i) = (i - (series - 1) / 2.0) * step
foot = logarithmic ? bottom * (top / bottom) ** 0.02 : bottom + 0.02 * (top - bottom)
above = series + published > 4 ? 140.0 : 115.0 # heading and key
across = columns > 0 ? columns : panels < 4 ? panels : int(ceil(sqrt(panels)))
down = int(ceil(real(panels) / across))
wide = across == 1 ? 1000 : 420 * across
below = turned ? 185.0 : 160.0
high = 110 + below + (down == 1 ? 400 : 300 * down)
array terminals[3] = [sprintf('pngcairo size %d,%d font "DejaVu Sans,10" noenhanced', wide, high), sprintf('svg size %d,%d font "DejaVu Sans,10" noenhanced background rgb "white"', wide, high), sprintf('pdfcairo size %.1fin,%.1fin font "DejaVu Sans,10" noenhanced', wide / 96.0, high / 96.0)]
array suffixes[3] = ['png', 'svg', 'pdf']
do for [t=1:3] {
    eval 'set terminal '.terminals[t]
    set output base.'.'.suffixes[t]
    set label 2 heading at screen 0.5,1 - 22.0 / high center font ',13'
    set label 1 caption at screen 0.01,70.0 / high left font ',8' textcolor rgb '#555555'
    set key at screen 0.5,1 - 40.0 / high center top horizontal Left reverse maxrows (series + published > 4 ? 2 : 1) samplen 1.5 spacing 1.1 width 1
    set multiplot layout down,across margins 85.0 / wide,1 - 20.0 / wide,below / high,1 - above / high spacing 60.0 / wide,110.0 / high
    do for [p=1:panels] {
        set title panel_names[p]
        set ylabel (p - 1) % across == 0 ? ylabel : ''
        set xlabel (p + across > panels) ? xlabel : ''
        plot for [i=0:series-1] data index p-1 using ($0 + centre(i)):(column(2+5*i)):(0.92 * step) with boxes notitle linecolor rgb colours[i+1], \
             for [i=0:series-1] data index p-1 using ($0 + centre(i)):(column(3+5*i)):(0):(column(4+5*i) - column(3+5*i)) with vectors nohead linecolor rgb '#333333' notitle, \
             for [i=0:series-1] data index p-1 using ($0 + centre(i)):(column(5+5*i)) with points notitle pointtype 12 pointsize 1.6 linewidth 1.5 linecolor rgb '#000000', \
             for [i=0:series-1] data index p-1 using ($0 + centre(i)):(foot):(stringcolumn(6+5*i)) with labels rotate by 90 left font ',8' textcolor rgb colours[i+1] notitle, \
             for [i=1:series] NaN with boxes title names[i] linecolor rgb colours[i], \
             NaN with points title (published ? 'published' : '') pointtype 12 pointsize 1.6 linewidth 1.5 linecolor rgb '#000000'
        unset label 1
        unset label 2
        unset key
    }
    unset multiplot
    unset output
}
