"""An S3-compatible store (moto) on a free port of the loopback interface, which checks signatures. Prints a line: port,
key, secret. Ends when its input does."""

import logging
import os
import sys

# what prepares the store is not checked: user, policy, key, bucket and the files of "many"
FILES = int(os.environ.get("FILES", 1050))
os.environ["INITIAL_NO_AUTH_ACTION_COUNT"] = str(4 + FILES)

import boto3  # noqa: E402
from moto.server import ThreadedMotoServer  # noqa: E402

logging.getLogger("werkzeug").setLevel(logging.ERROR)
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
host, port = server.get_host_and_port()
common = dict(endpoint_url=f"http://{host}:{port}", region_name="us-east-1",
              aws_access_key_id="none", aws_secret_access_key="none")
iam = boto3.client("iam", **common)
iam.create_user(UserName="scyper")
iam.put_user_policy(UserName="scyper", PolicyName="all", PolicyDocument=
                    '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]}')
key = iam.create_access_key(UserName="scyper")["AccessKey"]
s3 = boto3.client("s3", **common)
s3.create_bucket(Bucket="backups")
for i in range(FILES):
    s3.put_object(Bucket="backups", Key=f"many/{i:05}", Body=b"x")
print(port, key["AccessKeyId"], key["SecretAccessKey"], flush=True)
sys.stdin.read()
server.stop()
