# SPDX-License-Identifier: MIT
# Shape: stacked bars in named clusters. One bar a line of the data file.
#
# Variables set before this text:
#   data       file: position on the x axis, bar's name, then one value for each part
#   parts      number of parts; names, colours: arrays of that length, from the foot of the bar up
#   clusters   number of clusters; cluster_names, cluster_middles: arrays of that length
#   right      last position
#   base       output name without suffix; heading, caption, ylabel: texts; top: upper end of the y axis

set encoding utf8
set datafile separator '\t'
set style fill solid 0.9 border rgb '#333333'
set boxwidth 0.7
set label 2 heading at screen 0.5,0.96 center font ',14'
set ylabel ylabel
set yrange [0:top]
set xrange [-0.8:right + 0.8]
set ytics nomirror
set xtics nomirror scale 0
set grid ytics linetype 1 linecolor rgb '#dddddd' linewidth 1
set border 3
set key at screen 0.5,0.925 center top horizontal Left reverse maxrows 2 samplen 1.5 spacing 1.2 width 1
set tmargin 6
set lmargin 11
set rmargin 3
set label 1 caption at screen 0.02,0.10 left font ',9' textcolor rgb '#555555'
# Many bars: their names stand upright, the clusters' names below them.
crowded = right > 9
if (crowded) {
    set xtics rotate by 90 right font ',9'
}
set bmargin crowded ? 13 : 10
do for [c=1:clusters] {
    set label (2 + c) cluster_names[c] at first cluster_middles[c], graph (crowded ? -0.24 : -0.13) center \
        font (crowded ? ',10' : ',12')
}

# A part reaches from the sum of those below it to the sum including it: the highest sum is drawn first, the others
# over it.
set terminal pngcairo size 1000,620 font 'DejaVu Sans,11' noenhanced
set output base.'.png'
plot for [p=parts:1:-1] data using 1:(sum [k=1:p] column(2+k)):xtic(2) with boxes \
         notitle linecolor rgb colours[p], \
     for [p=1:parts] NaN with boxes title names[p] linecolor rgb colours[p]
set terminal svg size 1000,620 font 'DejaVu Sans,11' noenhanced background rgb 'white'
set output base.'.svg'
replot
set output
