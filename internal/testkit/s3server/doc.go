// Package s3server is a server of one bucket in memory with S3's calls to list and to read, for tests.
package s3server
