# SPDX-License-Identifier: MIT
# Opens the script of every shape of figure, behind figure_series.gp: the size of the picture, the rows of its key and its
# terminals.
#
# Variables set before this text:
#   series, names      number of series and their names
#   published          1 where a published value is drawn and the key names it, else 0
#   published_name     its name there
#   panels, panel_names, columns: number of panels, their titles, how many in a row (0: any)
#   caption_lines      lines of the caption
#   words              most words at one value of x that a shape puts in a strip above its lines
#   turned             1 where the names of x are turned, so that they need room
# and for the shapes: logarithmic 0 or 1;   bottom, top: ends of the values on the y axis;   drawn 0 where there is no value

set encoding utf8
set datafile missing 'NaN'
set datafile separator '\t'
across = columns > 0 ? columns : panels < 4 ? panels : int(ceil(sqrt(panels)))
down = int(ceil(real(panels) / across))
wide = across == 1 ? 800 : 420 * across # a page of text shows some 800 pixels
panel = (wide - 105 - 60.0 * (across - 1)) / across # its width
longest = published ? strlen(published_name) : 3
do for [i=1:series] { if (strlen(names[i]) > longest) { longest = strlen(names[i]) } }
# Rows of the key, each with about as many names: gnuplot makes it no wider than the first panel.
fitting = int(panel / (7.5 * longest + 65))
key_rows = int(ceil((series + published) / (fitting > 0 ? real(fitting) : 1.0)))
titled = panels > 1 || strlen(panel_names[1]) > 0
above = 52.0 + 22 * key_rows + (titled ? 24 : 0) # heading, key, panel's title
below = 78.0 + 15 * caption_lines + (turned ? 35 : 0)
between = turned ? 135.0 : 110.0
inner = (down == 1 ? 390.0 : 190.0) + (words > 4 ? 15.0 * (words - 4) : 0) # the strip of words takes no room from the lines
high = int(above + below + down * inner + (down - 1) * between)
terminal(t) = t == 3 ? \
    sprintf('pdfcairo size %.1fin,%.1fin font "DejaVu Sans,10" noenhanced', wide / 96.0, high / 96.0) : \
    \
    sprintf('%s size %d,%d font "DejaVu Sans,10" noenhanced%s', word('pngcairo svg', t), wide, high, t == 2 ? ' background rgb "white"' : '')
# Thousands and millions by letter: 500000 is 500.0 k.
plain(most) = most < 1e4 ? '%g' : '%.1s %c'
suffix(t) = word('png svg pdf', t)
