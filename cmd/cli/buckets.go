//go:build !nobuckets

package cli

import (
	_ "gocloud.dev/blob/azureblob" // azblob:// for serve
	_ "gocloud.dev/blob/gcsblob"   // gs://
	_ "gocloud.dev/blob/s3blob"    // s3://
)
