# SPDX-License-Identifier: MIT
# Shape: what processors and storage did over a run, a panel a run: the cores' busy share and, stacked on it, the share that
# was idle for I/O; the GPU's busy share as a line.
#
# Variables set before this text, besides those that figure_head.gp names:
#   data       file: for each panel a block (two empty lines between), in it a line for each interval:
#              its end in seconds, CPU, I/O wait, GPU, in percent (NaN: unknown)
#   base, heading, caption, xlabel, ylabel: texts

# The key has one row of its own here.
high = int(high - above + 74.0 + (titled ? 24 : 0))
above = 74.0 + (titled ? 24 : 0)
set yrange [0:105]
set ytics nomirror 0,25,100
set xtics autofreq nomirror
set grid ytics linetype 1 linecolor rgb '#dddddd' linewidth 1
set border 3
set xlabel xlabel
set style fill solid 0.85 noborder
do for [t=1:3] {
    eval 'set terminal '.terminal(t)
    set output base.'.'.suffix(t)
    set label 2 heading at screen 0.5,1 - 20.0 / high center font ',13'
    set label 1 caption at screen 10.0 / wide,(15.0 * caption_lines - 2) / high left font ',9' textcolor rgb '#444444'
    set key at screen 0.5,1 - 36.0 / high center top horizontal Left reverse maxrows 1 samplen 2 spacing 1.1 width 1
    set multiplot layout down,across margins 85.0 / wide,1 - 20.0 / wide,below / high,1 - above / high spacing 60.0 / wide,between / high
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
