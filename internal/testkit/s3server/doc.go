// Package s3server is an in-memory server of one bucket for tests, with S3's calls to list, read and write.
package s3server
