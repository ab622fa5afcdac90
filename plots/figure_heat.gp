# SPDX-License-Identifier: MIT
# Shape: panels of a grid, a column a value of x, a row a series: the value as a colour and in figures.
#
# Variables set before this text, besides those that figure_head.gp names:
#   data       file: for each panel a block (two empty lines between), in it a line for each value of x:
#              x, then for each series: value least most published word   (NaN: none; the word stands instead), and a dot
#   rows       values of x, whose names are set as tics of the x axis
#   base, heading, caption, xlabel, ylabel: texts

if (logarithmic) { set logscale cb }
# No key.
high = int(high - above + 52.0 + (titled ? 24 : 0))
above = 52.0 + (titled ? 24 : 0)
set cbrange [(logarithmic ? bottom * 1.5 : 0):(logarithmic ? top / 1.5 : top)]
set palette defined (0 '#f7fbff', 1 '#6baed6', 2 '#08306b')
set xrange [-0.5:rows - 0.5]
set yrange [series - 0.5:-0.5]
set ytics nomirror scale 0 ('' 0)
do for [i=1:series] { set ytics add (names[i] i - 1) }
set border 0
set cblabel ylabel
set style fill solid 1 noborder
middle = logarithmic ? sqrt(bottom * top) : top / 2
do for [t=1:3] {
    eval 'set terminal '.terminal(t)
    set output base.'.'.suffix(t)
    set label 2 heading at screen 0.5,1 - 20.0 / high center font ',13'
    set label 1 caption at screen 10.0 / wide,(15.0 * caption_lines - 2) / high left font ',9' textcolor rgb '#444444'
    set multiplot layout down,across margins 150.0 / wide,1 - 110.0 / wide,below / high,1 - above / high spacing 220.0 / wide,between / high
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
