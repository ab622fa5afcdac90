# SPDX-License-Identifier: MIT
# Shape: panels of lines over the values of x, at equal distances; published values as open diamonds. A run without a
# number, such as one out of memory, has its mark and its word in a strip above the lines.
#
# Variables set before this text, besides those that figure_head.gp names:
#   data       file: for each panel a block (two empty lines between), in it a line for each value of x:
#              x, then for each series: value least most published word   (NaN: none; the word stands instead), and a dot
#   rows       values of x, whose names are set as tics of the x axis
#   words, word_length: most words at one value of x, which are lines of the strip (0: none), and characters of the longest
#   base, heading, caption, xlabel, ylabel: texts

line = 15.0 # pixels of a line of the strip
strip = words > 0 ? (words * line + 8) / inner : 0
ceiling = logarithmic ? top * (top / bottom) ** (strip / (1 - strip)) : top + (top - bottom) * strip / (1 - strip)
share(k) = 1 - (4 + (k + 0.5) * line) / inner
height(k) = logarithmic ? bottom * (ceiling / bottom) ** share(k) : bottom + share(k) * (ceiling - bottom)
# The series' name stands beside its word where there is room.
room = 0.9 * panel / (rows + 0.5) > 6.3 * (longest + 1 + word_length) + 10
has(i) = strlen(word(stringcolumn(6+5*i), 1)) > 0
label(i) = !has(i) ? '' : room ? names[i+1].' '.stringcolumn(6+5*i) : stringcolumn(6+5*i)
set yrange [bottom:ceiling]
set xrange [-0.6:rows - (room && words > 0 ? 0.1 : 0.4)]
set ytics nomirror
if (logarithmic) { set logscale y }
# Where the ends of the y axis lie below three decades apart powers of ten are too few: 2 and 5 stand between them.
if (logarithmic && top / bottom < 1000) {
    set ytics ()
    do for [k = int(floor(log10(bottom))):int(ceil(log10(top)))] {
        do for [m in "1 2 5"] { if (m * 10.0 ** k <= top) { set ytics add (sprintf("%g", m * 10.0 ** k) m * 10.0 ** k) } }
    }
}
if (!logarithmic && words > 0) { # no tic in the strip
    digit = 10.0 ** floor(log10((top - bottom) / 5))
    many = (top - bottom) / 5 / digit
    set ytics bottom,digit * (many < 1.5 ? 1 : many < 3.5 ? 2 : many < 7.5 ? 5 : 10),top
}
if (words > 0) {
    set object 1 rectangle from graph 0, first top to graph 1, graph 1 behind fillcolor rgb '#f0f0f0' fillstyle solid noborder
}
set grid ytics linetype 1 linecolor rgb '#dddddd' linewidth 1
set border 3
set format y plain(top)
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
        set xlabel (p + across > panels) ? xlabel : ''
        plot for [i=0:series-1] data index p-1 using ($0):(column(2+5*i)) with linespoints notitle pointtype mark(i+1) pointsize 0.9 linewidth 2 dashtype dash(i+1) linecolor rgb colours[i+1], \
             for [i=0:series-1] data index p-1 using ($0):(column(3+5*i)):(0):(column(4+5*i) - column(3+5*i)) with vectors nohead linewidth 1.5 linecolor rgb colours[i+1] notitle, \
             for [i=0:series-1] data index p-1 using ($0):(column(5+5*i)) with points notitle pointtype 12 pointsize 1.8 linewidth 2 linecolor rgb colours[i+1], \
             for [i=0:series-1] data index p-1 using ($0):(has(i) ? height(i > 0 ? sum [k=0:i-1] has(k) : 0) : NaN):(label(i)) with labels left offset character 0.9,-0.2 point pointtype mark(i+1) pointsize 0.8 linecolor rgb colours[i+1] font ',9' notitle, \
             for [i=1:series] NaN with linespoints title names[i] pointtype mark(i) pointsize 0.9 linewidth 2 dashtype dash(i) linecolor rgb colours[i], \
             NaN with points title (published ? published_name : '') pointtype 12 pointsize 1.8 linewidth 2 linecolor rgb '#000000'
        unset label 1
        unset label 2
        unset key
    }
    unset multiplot
    unset output
}
