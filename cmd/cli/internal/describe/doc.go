// Package describe describes a table as text, as JSON or as a self-contained HTML page.
package describe
