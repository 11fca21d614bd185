// Package bucket reads and writes objects of S3, Google Cloud Storage and Azure Blob Storage by URL: it finds them, lists them, and gives
// them as files with random access.
package bucket
