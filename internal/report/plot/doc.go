// Package plot draws lines over logarithmic axes as an SVG picture, for documents.
package plot
