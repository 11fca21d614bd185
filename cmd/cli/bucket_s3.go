//go:build !nobuckets

package cli

import _ "gocloud.dev/blob/s3blob" // s3:// for serve, and for the files of inputs
