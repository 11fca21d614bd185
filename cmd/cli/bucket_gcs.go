//go:build gcs

package cli

import _ "gocloud.dev/blob/gcsblob" // gs:// for serve
