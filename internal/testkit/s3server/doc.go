// Package s3server is a server of one bucket in memory with S3's calls to list, to read and to write, for tests.
package s3server
