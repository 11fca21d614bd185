//go:build gcs

package cli

import _ "gocloud.dev/blob/gcsblob" // gs:// for serve, and for the files of inputs
