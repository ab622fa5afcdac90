# SPDX-License-Identifier: MIT
# Simulated against measured times of an epoch, on logarithmic axes: a panel for each kind of configuration, a mark for
# each system. Run it in the root of the tree:
#
#   gnuplot -c plots/agree.gp results/data/trust-agree.csv results/trust.svg
#
# ARG1       CSV file with the columns set, system, measured_s, simulated_s
# ARG2       picture to write, *.svg or *.png

array names[7] = ['pygplus', 'ginex', 'gnndrive', 'ringsampler', 'agnes', 'diskgnn', 'mariusgnn']
array places[7] = [2, 3, 4, 5, 6, 7, 8] # in the registry
array shades[7] = [0, 0, 0, 0, 0, 0, 0]
load 'plots/figure_series.gp'
array panel_names[3] = ['Whole epochs, readahead 0', 'Sampling only; AGNES by threads', \
                        'Readahead of the device 128K, 1M']
array first_words[3] = ['whole', 'sampling', 'readahead:']

set encoding utf8
set datafile separator ','
kind = ARG2[strlen(ARG2)-2:] eq 'png' ? 'pngcairo' : 'svg'
eval 'set terminal '.kind." size 1260,480 font 'DejaVu Sans,10' noenhanced background rgb 'white'"
set output ARG2
set logscale xy
low = 0.2
high = 150.0
along(n) = low * (high / low) ** (n / 99.0) # of the samples of '+'
set xrange [low:high]
set yrange [low:high]
set format xy '%g'
set samples 100
set size square
set border 3
set tics nomirror
set grid linetype 1 linecolor rgb '#dddddd' linewidth 1
set label 1 'Simulated against measured time of the first epoch, papers100m at scale 1/100' \
    at screen 0.5,0.96 center font ',13'
set label 2 'Line: equal times. Grey: simulated time between 0.60 and 1.60 times the measured time.' \
    at screen 0.02,0.03 left font ',9' textcolor rgb '#444444'
unset key # gnuplot makes a key no wider than its panel
do for [i=1:7] {
    set label 2+i names[i] at screen 0.05 + 0.115*i,0.9 left offset character 1,0 point pointtype mark(i) pointsize 1 \
        linewidth 1.5 linecolor rgb colours[i]
}
set multiplot layout 1,3 margins 0.06,0.985,0.2,0.8 spacing 0.06,0.1
shown(p, i) = word(stringcolumn('set'), 1) eq first_words[p] && stringcolumn('system') eq names[i]
do for [p=1:3] {
    set title panel_names[p]
    set xlabel 'measured s'
    set ylabel p == 1 ? 'simulated s' : ''
    plot '+' using (along($0)):(0.6 * along($0)):(1.6 * along($0)) \
             with filledcurves linecolor rgb '#eeeeee' notitle, \
         x with lines linecolor rgb '#888888' notitle, \
         for [i=1:7] ARG1 using (shown(p, i) ? column('measured_s') : NaN):(column('simulated_s')) \
             with points pointtype mark(i) pointsize 1 linewidth 1.5 linecolor rgb colours[i] notitle
    unset label
}
unset multiplot
unset output
