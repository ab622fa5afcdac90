# SPDX-License-Identifier: MIT
# Draws results/presort.svg from results/data/presort_experiments.csv: epoch time over the size of a row, for rows read where
# they are, sorted, and chosen by presort itself. From the root of the repository: gnuplot plots/results/presort.gp
# With -e 'png=1', draws build/presort.png instead.

data = 'results/data/presort_experiments.csv'
# The lines of one drive and class: size of a row and epoch time, by the names of the columns in the first line.
rows(drive, class) = "< awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i } $1 == \"crossover\" && $at[\"drive\"] == \"" \
    .drive."\" && $at[\"series\"] == \"".class."\" { print $at[\"row_bytes\"], $at[\"epoch_s\"] }' ".data

set encoding utf8
if (exists('png')) {
    set terminal pngcairo size 900,430 font 'DejaVu Sans,11' noenhanced
    set output 'build/presort.png'
} else {
    set terminal svg size 900,430 font 'DejaVu Sans,11' noenhanced background rgb 'white'
    set output 'results/presort.svg'
}
set logscale xy
set xtics nomirror ('128 B' 128, '256 B' 256, '512 B' 512, '1 KiB' 1024, '2 KiB' 2048, '4 KiB' 4096, '8 KiB' 8192, '16 KiB' 16384)
set xrange [100:21000]
set grid ytics linetype 1 linecolor rgb '#dddddd' linewidth 1
set border 3
set xlabel 'bytes of a feature row'
set key top left Left reverse samplen 2
set multiplot layout 1,2 margins 0.07,0.99,0.25,0.83 spacing 0.08,0 \
    title "Epoch time of presort by size of a row: sorting pays below about 2 KiB"
set label 1 "Simulated, papers100m at 1/100, every node can be sampled, 8 % of the rows in memory, batch 10, fan-out 10,10,10.\n".\
    'Second of three epochs. Axes are logarithmic, and those of the drives differ.' at screen 0.02,0.075 left font ',9' textcolor rgb '#555555'
do for [drive in 'SATA NVMe'] {
    set title (drive eq 'SATA' ? 'SATA drive (profile gnndrive-paper)' : 'NVMe drive (profile agnes-paper)')
    set yrange [(drive eq 'SATA' ? 0.5 : 0.2):(drive eq 'SATA' ? 200 : 20)]
    set ytics nomirror ('0.2' 0.2, '0.5' 0.5, '1' 1, '2' 2, '5' 5, '10' 10, '20' 20, '50' 50, '100' 100, '200' 200)
    set ylabel (drive eq 'SATA' ? 'seconds per epoch' : '')
    plot rows(drive, 'direct') with linespoints linewidth 2 pointtype 7 linecolor rgb '#D55E00' title 'all rows read directly', \
         rows(drive, 'sorted') with linespoints linewidth 2 pointtype 5 linecolor rgb '#0072B2' title 'all rows sorted', \
         rows(drive, 'auto') with points pointtype 6 pointsize 1.8 linewidth 2 linecolor rgb '#333333' title "presort's choice"
    unset label 1
}
unset multiplot
set output
