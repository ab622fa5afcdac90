# SPDX-License-Identifier: MIT
# How series are drawn, in every picture that has a series for a system: colour, mark and dash of each.
#
# Variables set before this text:
#   places, shades     for each series, its place among the styles below and a shade of that style, 0 to 3. The n-th system
#                      of the registry has place n in every picture. Several series of one system have its colour and mark,
#                      and differ in the shade: that of the colour, and the dash.
#
# Sixteen styles, each with a colour and a mark of its own; the last six are dashed, too. No diamond, which is a published
# value's. The first eight colours are Okabe and Ito's, with greys for their black and yellow.
array style_colour[16] = [0x999999, 0x0072B2, 0xE69F00, 0x009E73, 0xCC79A7, 0x56B4E9, 0xD55E00, 0x882255, \
                          0x333333, 0x999933, 0x332288, 0x44AA99, 0x8C510A, 0x117733, 0xAA4499, 0x6A6A00]
array style_mark[16] = [8, 7, 5, 9, 11, 15, 6, 4, 14, 10, 1, 2, 3, 7, 5, 9]
mark(i) = style_mark[places[i]]
# Dash types of gnuplot: solid, then dashes, dots, both, two dots.
dash(i) = shades[i] > 0 ? 1 + shades[i] : places[i] > 10 ? 5 : 1
# A shade: as it is, lighter, darker, lightest.
blend(c, to, part) = int(c + (to - c) * part)
shade(c, s) = s == 0 ? c : s == 2 ? blend(c, 0, 0.45) : blend(c, 255, s == 1 ? 0.45 : 0.7)
array colours[|places|]
do for [i=1:|places|] {
    rgb = style_colour[places[i]]
    colours[i] = sprintf('#%02X%02X%02X', shade((rgb >> 16) & 255, shades[i]), shade((rgb >> 8) & 255, shades[i]), \
                         shade(rgb & 255, shades[i]))
}
