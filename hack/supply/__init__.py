"""What our packages and images are made of: bills of materials, licences, and known vulnerabilities."""
