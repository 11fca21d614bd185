//go:build sqlite

package cli

import _ "modernc.org/sqlite" // the driver sqlite, for inputs of format sql
