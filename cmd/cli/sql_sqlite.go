//go:build sqlite

package cli

import _ "modernc.org/sqlite" // the driver sqlite of inputs of format sql
