"""An authority and certificates that it signs, in a folder of their own, for tests."""

import os
import subprocess
import tempfile

KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]


class Certificates:
    """ca.pem, and a certificate NAME.pem with NAME.key for "server" and "client", both for localhost."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="sluice-grpc-")
        self.openssl("req", "-x509", *KEY, "-days", "2", "-subj", "/CN=authority",
                     "-keyout", "ca.key", "-out", "ca.pem")
        for name in ("server", "client"):
            self.sign(name, name)

    def sign(self, name, common_name):
        """Makes a new key and certificate."""
        self.openssl("req", "-new", *KEY, "-subj", f"/CN={common_name}", "-addext", "subjectAltName=DNS:localhost",
                     "-keyout", f"{name}.key", "-out", f"{name}.csr")
        self.openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-days", "2",
                     "-copy_extensions", "copy", "-out", f"{name}.pem")

    def openssl(self, *arguments):
        subprocess.run(["openssl", *arguments], cwd=self.folder.name, check=True, capture_output=True)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def cleanup(self):
        self.folder.cleanup()
