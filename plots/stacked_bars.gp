# SPDX-License-Identifier: MIT
# Shape: stacked bars in named clusters. One bar a line of the data file.
#
# Variables set before this text:
#   data       file: position on the x axis, bar's name, then one value for each part
#   parts      number of parts; names, colours: arrays of that length, from the foot of the bar up
#   clusters   number of clusters; cluster_names, cluster_middles: arrays of that length
#   right      last position
#   stage_width, name_width, name_lines: characters of the longest bar's name and of the longest line of a cluster's name, and
#              lines of such a name
#   base       output name without suffix; heading, caption, ylabel: texts; top: upper end of the y axis
#   caption_lines  lines of the caption

set encoding utf8
set datafile separator '\t'
# Sizes in pixels: names that would run into each other are upright, and have room below the bars.
wide = 125 + 15.0 * (right + 1.6)
if (wide < 1000) { wide = 1000 }
each = (wide - 125) / (right + 1.6)
gap = wide
do for [c=2:clusters] { if ((cluster_middles[c] - cluster_middles[c-1]) * each < gap) { gap = (cluster_middles[c] - cluster_middles[c-1]) * each } }
crowded = 7.5 * stage_width > each
turned = 8.0 * name_width > gap
stages = crowded ? 6.6 * stage_width + 20 : 22
names_below = turned ? 7.2 * name_width + 10 : 18.0 * name_lines
inner = 320.0
below = stages + names_below + 15 * caption_lines + 20
high = int(105 + inner + below)

set style fill solid 0.9 border rgb '#333333'
set boxwidth 0.7
set label 2 heading at screen 0.5,1 - 25.0 / high center font ',14'
set ylabel ylabel
set yrange [0:top]
set xrange [-0.8:right + 0.8]
set ytics nomirror
set xtics nomirror scale 0
if (crowded) { set xtics rotate by 90 right font ',9' }
set grid ytics linetype 1 linecolor rgb '#dddddd' linewidth 1
set border 3
set key at screen 0.5,1 - 45.0 / high center top horizontal Left reverse maxrows 2 samplen 1.5 spacing 1.2 width 1
set lmargin at screen 95.0 / wide
set rmargin at screen 1 - 30.0 / wide
set tmargin at screen 1 - 105.0 / high
set bmargin at screen below / high
set label 1 caption at screen 20.0 / wide,15.0 * caption_lines / high left font ',9' textcolor rgb '#555555'
do for [c=1:clusters] {
    if (turned) {
        set label (2 + c) cluster_names[c] at first cluster_middles[c], graph -stages / inner rotate by 90 right font ',10'
    } else {
        set label (2 + c) cluster_names[c] at first cluster_middles[c], graph -(stages + 8) / inner center
    }
}

# A part reaches from the sum of those below it to the sum including it: the highest sum is drawn first, the others
# over it.
do for [t=1:3] {
    if (t == 3) { set terminal pdfcairo size wide / 96.0,high / 96.0 font 'DejaVu Sans,11' noenhanced }
    if (t == 2) { set terminal svg size wide,high font 'DejaVu Sans,11' noenhanced background rgb 'white' }
    if (t == 1) { set terminal pngcairo size wide,high font 'DejaVu Sans,11' noenhanced }
    set output base.'.'.word('png svg pdf', t)
    plot for [p=parts:1:-1] data using 1:(sum [k=1:p] column(2+k)):xtic(2) with boxes \
             notitle linecolor rgb colours[p], \
         for [p=1:parts] NaN with boxes title names[p] linecolor rgb colours[p]
    unset output
}
