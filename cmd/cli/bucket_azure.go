//go:build azure

package cli

import _ "gocloud.dev/blob/azureblob" // azblob:// for serve, and for the files of inputs
