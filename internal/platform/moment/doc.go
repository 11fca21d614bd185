// Package moment keeps times that goroutines share and that differences are taken of: they do not change with the machine's clock.
package moment
