// Package describe says what is in a table: as text, as JSON and as an HTML page that loads nothing from anywhere.
package describe
