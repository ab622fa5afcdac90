# SPDX-License-Identifier: MIT
# Shape: published numbers against ours, a marker for each method, with the diagonal and the band of a factor of 2.
#
# Variables set before this text:
#   base, heading              output name without suffix; title
#   left, right, bottom, top   least and most published number, and least and most of ours
#   series, names              number of methods and their names; each is a block of base.dat

set encoding utf8
set datafile missing 'NaN'
set datafile separator '\t'
set title heading font ',13'
set xlabel 'published'
set ylabel 'ours'
set logscale xy
set format '%g'
from = left / 2.5
to = right * 2.5
low = (bottom < left ? bottom : left) / 2.5
high = (top > right ? top : right) * 2.5
set xrange [from:to]
set yrange [low:high]
set grid xtics ytics linetype 1 linecolor rgb '#e4e4e4' linewidth 1
set border 3
set tics nomirror
do for [k = -3:5] { # between powers of ten where there are few of them
    do for [m in "2 5"] {
        v = m * 10.0 ** k
        if (to / from < 1000 && v > from && v < to) { set xtics add (sprintf('%g', v) v) }
        if (high / low < 1000 && v > low && v < high) { set ytics add (sprintf('%g', v) v) }
    }
}
set bmargin 4.5 + 1.3 * ceil((series + 2) / 2.0)
set key at screen 0.5,0.01 bottom center horizontal maxcols 2 Left reverse samplen 1 spacing 1.2
set samples 2
array colours[8] = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9', '#000000', '#999999']
array marks[8] = [7, 5, 9, 13, 4, 6, 8, 12]
suffix(t) = word('png svg pdf', t)
terminal(t) = t == 3 ? 'pdfcairo size 8.3in,6.9in font "DejaVu Sans,10" noenhanced' : \
    sprintf('%s size 800,660 font "DejaVu Sans,10" noenhanced%s', word('pngcairo svg', t), t == 2 ? ' background rgb "white"' : '')
do for [t=1:3] {
    eval 'set terminal '.terminal(t)
    set output base.'.'.suffix(t)
    plot [from:to] '+' using ($1):($1 / 2):($1 * 2) with filledcurves linecolor rgb '#eeeeee' title 'within a factor of 2', \
         x with lines linewidth 1 linecolor rgb '#777777' title 'ours = published', \
         for [i=1:series] base.'.dat' index i-1 using 1:2 with points pointtype marks[i] pointsize 1.1 linewidth 1.5 \
             linecolor rgb colours[i] title names[i]
    unset output
}
