// Package plot draws lines over logarithmic axes as an SVG image for documents.
package plot
