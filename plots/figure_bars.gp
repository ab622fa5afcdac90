# SPDX-License-Identifier: MIT
# Shape: panels of grouped bars, one group a value of x, one bar a series; published values as open diamonds. A bar's
# length means nothing on a logarithmic axis, which has no zero: there a mark stands in each bar's place.
#
# Variables set before this text, besides those that figure_head.gp names:
#   data       file: for each panel a block (two empty lines between), in it a line for each value of x:
#              x, then for each series: value least most published word   (NaN: none; the word stands instead), and a dot
#   rows       values of x, whose names are set as tics of the x axis
#   tops       upper end of each panel's y axis
#   base, heading, caption, xlabel, ylabel: texts

set style fill solid 0.9 border rgb '#333333'
set xrange [-0.6:rows - 0.4]
set ytics nomirror
if (logarithmic) {
    set logscale y
    do for [k=1:rows-1] { set arrow k from first k - 0.5,graph 0 to first k - 0.5,graph 1 nohead linecolor rgb '#dddddd' }
}
# Where the ends of the y axis lie below three decades apart powers of ten are too few: 2 and 5 stand between them.
if (logarithmic && top / bottom < 1000) {
    set ytics ()
    do for [k = int(floor(log10(bottom))):int(ceil(log10(top)))] {
        do for [m in "1 2 5"] { if (m * 10.0 ** k <= top) { set ytics add (sprintf("%g", m * 10.0 ** k) m * 10.0 ** k) } }
    }
}
set grid ytics linetype 1 linecolor rgb '#dddddd' linewidth 1
set border 3
step = 0.84 / series
centre(i) = (i - (series - 1) / 2.0) * step
foot(p) = logarithmic ? bottom * (top / bottom) ** 0.02 : bottom + 0.02 * (tops[p] - bottom)
bar(i) = logarithmic ? NaN : column(2+5*i)
point(i) = logarithmic ? column(2+5*i) : NaN
do for [t=1:3] {
    eval 'set terminal '.terminal(t)
    set output base.'.'.suffix(t)
    set label 2 heading at screen 0.5,1 - 20.0 / high center font ',13'
    set label 1 caption at screen 10.0 / wide,(15.0 * caption_lines - 2) / high left font ',9' textcolor rgb '#444444'
    set key at screen 0.5,1 - 36.0 / high center top horizontal Left reverse maxrows key_rows samplen 1.5 spacing 1.1 width 1
    set multiplot layout down,across margins 85.0 / wide,1 - 20.0 / wide,below / high,1 - above / high spacing 60.0 / wide,between / high
    do for [p=1:panels] {
        set title panel_names[p]
        set yrange [bottom:tops[p]]
        set format y plain(tops[p])
        set ylabel (p - 1) % across == 0 ? ylabel : ''
        set xlabel (p + across > panels) ? xlabel : ''
        plot for [i=0:series-1] data index p-1 using ($0 + centre(i)):(bar(i)):(0.92 * step) with boxes notitle linecolor rgb colours[i+1], \
             for [i=0:series-1] data index p-1 using ($0 + centre(i)):(column(3+5*i)):(0):(column(4+5*i) - column(3+5*i)) with vectors nohead linecolor rgb '#333333' notitle, \
             for [i=0:series-1] data index p-1 using ($0 + centre(i)):(point(i)) with points notitle pointtype mark(i+1) pointsize 1.1 linecolor rgb colours[i+1], \
             for [i=0:series-1] data index p-1 using ($0 + centre(i)):(column(5+5*i)) with points notitle pointtype 12 pointsize 1.6 linewidth 4 linecolor rgb '#ffffff', \
             for [i=0:series-1] data index p-1 using ($0 + centre(i)):(column(5+5*i)) with points notitle pointtype 12 pointsize 1.6 linewidth 1.5 linecolor rgb '#000000', \
             for [i=0:series-1] data index p-1 using ($0 + centre(i)):(foot(p)):(stringcolumn(6+5*i)) with labels rotate by 90 left font ',8' textcolor rgb colours[i+1] notitle, \
             for [i=1:series] NaN with boxes title (logarithmic ? '' : names[i]) linecolor rgb colours[i], \
             for [i=1:series] NaN with points title (logarithmic ? names[i] : '') pointtype mark(i) pointsize 1.1 linecolor rgb colours[i], \
             NaN with points title (published ? published_name : '') pointtype 12 pointsize 1.6 linewidth 1.5 linecolor rgb '#000000'
        unset label 1
        unset label 2
        unset key
    }
    unset multiplot
    unset output
}
