# SPDX-License-Identifier: MIT
# Shape: panels of a grid, a column a value of x, a row a series: the value as a colour and in figures.
#
# Variables set before this text:
#   data       file: for each panel a block (two empty lines between), in it a line for each value of x:
#              x, then for each series: value least most published word   (NaN: none; the word stands instead), and a dot
#   rows       values of x, whose names are set as tics of the x axis
#   series, names, colours;   panels, panel_names, columns: their number, titles, how many in a row (0: any)
#   base, heading, caption, xlabel, ylabel: texts;   logarithmic 0 or 1;   bottom, top: ends of the y axis
#   turned     1 where the names of x are turned, so that they need room

set encoding utf8
set datafile missing 'NaN'
set datafile separator '\t'
if (logarithmic) { set logscale cb }
set cbrange [(logarithmic ? bottom * 2 : 0):(logarithmic ? top / 2 : top)]
set palette defined (0 '#f7fbff', 1 '#6baed6', 2 '#08306b')
set xrange [-0.5:rows - 0.5]
set yrange [series - 0.5:-0.5]
set ytics nomirror scale 0 ('' 0)
do for [i=1:series] { set ytics add (names[i] i - 1) }
set border 0
set cblabel ylabel
set style fill solid 1 noborder
middle = logarithmic ? sqrt(bottom * top) : top / 2
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
    set multiplot layout down,across margins 150.0 / wide,1 - 110.0 / wide,below / high,1 - 90.0 / high spacing 220.0 / wide,110.0 / high
    do for [p=1:panels] {
        set title panel_names[p]
        set xlabel (p + across > panels) ? xlabel : ''
        unset key
        plot for [i=0:series-1] data index p-1 using ($0):(i):(0.49):(0.48):(column(2+5*i)) with boxxyerror linecolor palette notitle, \
             for [i=0:series-1] data index p-1 using ($0):(i):(column(2+5*i) == column(2+5*i) ? sprintf('%.3g', column(2+5*i)) : ''):(column(2+5*i) > middle ? 0xffffff : 0x000000) with labels font ',8' textcolor rgb variable notitle, \
             for [i=0:series-1] data index p-1 using ($0):(i):(stringcolumn(6+5*i)) with labels font ',8' notitle
        unset label 1
        unset label 2
        unset key
    }
    unset multiplot
    unset output
}
