// Package tabular analyses an unknown table: its format, the types and statistics of its columns,
// which columns a model can use, and the kind of the label. It reads files once, in bounded memory.
package tabular
