// Package textvalue reads numbers and dates that are written as text: $1,234.50, 12 kg, 3.5 %, 2024-12-31, 31.12.24. Regular
// expressions define the forms, so that an exported model reads the same with TensorFlow's ops.
package textvalue
