# SPDX-License-Identifier: MIT
# Shape: groups of bars with whiskers. One group a line of the data file, one bar a series. Follows figure_series.gp, which
# has the colours.
#
# Variables set before this text:
#   data       file: group, then for each series: value low high label-height label  (NaN: no bar, the label stands alone)
#   series     number of series; names: their names, array of that length
#   base       output name without suffix; heading, caption, ylabel: texts; top: upper end of the y axis
#   caption_lines  lines of the caption

set encoding utf8
set datafile missing 'NaN'
set datafile separator '\t'
# Sizes in pixels: the key has as many rows as its names take, and values that would run into each other are upright.
wide = 1000.0
longest = 3
do for [i=1:series] { if (strlen(names[i]) > longest) { longest = strlen(names[i]) } }
fitting = int((wide - 125) / (8.5 * longest + 50))
key_rows = int(ceil(series / (fitting > 0 ? real(fitting) : 1.0)))
inner = 380.0
above = 60.0 + 22 * key_rows
high = int(above + inner + 45 + 15 * caption_lines)
upright = groups * (series + 1) > 14

set style data histograms
set style histogram errorbars gap 1 linewidth 1.2
set style fill solid 0.9 border rgb '#333333'
set boxwidth 0.9
set label 2 heading at screen 0.5,1 - 25.0 / high center font ',14'
set ylabel ylabel
set yrange [0:top * (upright ? 1.1 : 1)]
set xrange [-0.7:groups - 0.3]
set ytics nomirror
set xtics nomirror scale 0
set grid ytics linetype 1 linecolor rgb '#dddddd' linewidth 1
set border 3
set key at screen 0.5,1 - 45.0 / high center top horizontal Left reverse maxrows key_rows samplen 1.5 spacing 1.2 width 1
set lmargin at screen 95.0 / wide
set rmargin at screen 1 - 30.0 / wide
set tmargin at screen 1 - above / high
set bmargin at screen (45.0 + 15 * caption_lines) / high
set label 1 caption at screen 20.0 / wide,15.0 * caption_lines / high left font ',9' textcolor rgb '#555555'

# Centre of series i's bar in its group, as the histogram style places it.
step = 1.0 / (series + 1)
centre(i) = (i - (series - 1) / 2.0) * step

do for [t=1:3] {
    if (t == 3) { set terminal pdfcairo size wide / 96.0,high / 96.0 font 'DejaVu Sans,11' noenhanced }
    if (t == 2) { set terminal svg size wide,high font 'DejaVu Sans,11' noenhanced background rgb 'white' }
    if (t == 1) { set terminal pngcairo size wide,high font 'DejaVu Sans,11' noenhanced }
    set output base.'.'.word('png svg pdf', t)
    plot for [i=0:series-1] data using (column(2+5*i)):(column(3+5*i)):(column(4+5*i)):xtic(1) \
             notitle linecolor rgb colours[i+1], \
         for [i=1:series] NaN with boxes title names[i] linecolor rgb colours[i], \
         for [i=0:series-1] data using ($0 + centre(i)):(column(5+5*i)):(stringcolumn(6+5*i)) with labels \
             rotate by (upright ? 90 : 0) offset 0,(upright ? 1.8 : 0.7) font ',10' notitle
    unset output
}
