# SPDX-License-Identifier: MIT
# Shape: groups of bars with whiskers. One group a line of the data file, one bar a series.
#
# Variables set before this text:
#   data       file: group, then for each series: value low high label-height label  (NaN: no bar, the label stands alone)
#   series     number of series; names: their names, array of that length; colours: likewise
#   base       output name without suffix; heading, caption, ylabel: texts; top: upper end of the y axis

set encoding utf8
set datafile missing 'NaN'
set datafile separator '\t'
set style data histograms
set style histogram errorbars gap 1 linewidth 1.2
set style fill solid 0.9 border rgb '#333333'
set boxwidth 0.9
set label 2 heading at screen 0.5,0.96 center font ',14'
set ylabel ylabel
set yrange [0:top]
set xrange [-0.7:groups - 0.3]
set ytics nomirror
set xtics nomirror scale 0
set grid ytics linetype 1 linecolor rgb '#dddddd' linewidth 1
set border 3
set key at screen 0.5,0.925 center top horizontal Left reverse maxrows 2 samplen 1.5 spacing 1.2 width 1
set tmargin 6
set lmargin 11
set rmargin 3
set bmargin 8
set label 1 caption at screen 0.02,0.12 left font ',9' textcolor rgb '#555555'

# Centre of series i's bar in its group, as the histogram style places it.
step = 1.0 / (series + 1)
centre(i) = (i - (series - 1) / 2.0) * step

set terminal pngcairo size 1000,620 font 'DejaVu Sans,11' noenhanced
set output base.'.png'
plot for [i=0:series-1] data using (column(2+5*i)):(column(3+5*i)):(column(4+5*i)):xtic(1) \
         notitle linecolor rgb colours[i+1], \
     for [i=1:series] NaN with boxes title names[i] linecolor rgb colours[i], \
     for [i=0:series-1] data using ($0 + centre(i)):(column(5+5*i)):(stringcolumn(6+5*i)) with labels \
         offset 0,0.7 font ',10' notitle
set terminal svg size 1000,620 font 'DejaVu Sans,11' noenhanced background rgb 'white'
set output base.'.svg'
replot
set output
