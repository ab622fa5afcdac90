# SPDX-License-Identifier: MIT
# Shape: panels of distributions, each a line through its quantiles.
#
# Variables set before this text, besides those that figure_head.gp names:
#   data       file: for each panel a block (two empty lines between), in it a line for each quantile:
#              its share, then for each series the value (NaN: none)
#   base, heading, caption, xlabel, ylabel: texts

if (logarithmic) { set logscale x }
set yrange [0:1.02]
set ytics nomirror 0,0.25,1
set xtics autofreq nomirror
set grid linetype 1 linecolor rgb '#dddddd' linewidth 1
set border 3
set xlabel xlabel
set format x '%g'
do for [t=1:3] {
    eval 'set terminal '.terminal(t)
    set output base.'.'.suffix(t)
    set label 2 heading at screen 0.5,1 - 20.0 / high center font ',13'
    set label 1 caption at screen 10.0 / wide,(15.0 * caption_lines - 2) / high left font ',9' textcolor rgb '#444444'
    set key at screen 0.5,1 - 36.0 / high center top horizontal Left reverse maxrows key_rows samplen 4 spacing 1.1 width 1
    set multiplot layout down,across margins 85.0 / wide,1 - 20.0 / wide,below / high,1 - above / high spacing 60.0 / wide,between / high
    do for [p=1:panels] {
        set title panel_names[p]
        set ylabel (p - 1) % across == 0 ? ylabel : ''
        plot for [i=1:series] data index p-1 using (column(1 + i)):1 with linespoints notitle pointtype mark(i) pointsize 0.8 linewidth 2 dashtype dash(i) linecolor rgb colours[i], \
             for [i=1:series] NaN with linespoints title names[i] pointtype mark(i) linewidth 2 dashtype dash(i) linecolor rgb colours[i]
        unset label 1
        unset label 2
        unset key
    }
    unset multiplot
    unset output
}
