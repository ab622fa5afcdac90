# SPDX-License-Identifier: MIT
# Shape: lines with points. One point of every line a line of the data file.
#
# Variables set before this text:
#   data       file: place on the x axis, above 0, then the value of each series (NaN: none)
#   series     number of series; names, colours: arrays of that length
#   base       output name without suffix; heading, caption, xlabel, ylabel: texts

set encoding utf8
set datafile missing 'NaN'
set datafile separator '\t'
set label 2 heading at screen 0.5,0.96 center font ',14'
set xlabel xlabel
set ylabel ylabel
set logscale x
set yrange [0:100]
set xrange [*:100]
set ytics nomirror
set xtics nomirror (1, 2, 5, 10, 15, 20, 30, 50, 100)
set grid ytics linetype 1 linecolor rgb '#dddddd' linewidth 1
set border 3
set key at screen 0.5,0.925 center top horizontal Left reverse maxrows 2 samplen 1.5 spacing 1.2 width 1
set tmargin 6
set lmargin 11
set rmargin 3
set bmargin 9
set label 1 caption at screen 0.02,0.08 left font ',9' textcolor rgb '#555555'

set terminal pngcairo size 1000,620 font 'DejaVu Sans,11' noenhanced
set output base.'.png'
plot for [i=1:series] data using 1:(column(1+i)) with linespoints linewidth 2 pointtype 7 pointsize 0.8 \
         linecolor rgb colours[i] title names[i]
set terminal svg size 1000,620 font 'DejaVu Sans,11' noenhanced background rgb 'white'
set output base.'.svg'
replot
set output
