#!/bin/sh
# Makes the certificates of the tests anew: sh make.sh (OpenSSL 3.0). The keys are public; they protect nothing.
set -eu
cd "$(dirname "$0")"
days=36500
san='subjectAltName=IP:127.0.0.1,DNS:localhost'
key() { openssl ecparam -name "$1" -genkey -noout | openssl pkcs8 -topk8 -nocrypt -out "$2"; }

for name in authority server self-signed other-name client; do key prime256v1 $name.key.pem; done
key secp521r1 p521.key.pem

openssl req -x509 -key authority.key.pem -subj /CN=authority -days $days -out authority.pem \
    -addext 'keyUsage=critical,keyCertSign'
# A server certificate as a cluster's own authority signs it.
printf '%s\nbasicConstraints=CA:FALSE\n' "$san" >ext.txt
openssl req -new -key server.key.pem -subj /CN=server |
    openssl x509 -req -CA authority.pem -CAkey authority.key.pem -set_serial 2 -days $days -extfile ext.txt -out server.pem
# A self-signed server certificate that says it is an authority, as old appliances have it.
openssl req -x509 -key self-signed.key.pem -subj /CN=self-signed -days $days -out self-signed.pem -addext "$san"
# The same for another name, and one whose time is over.
openssl req -x509 -key other-name.key.pem -subj /CN=other-name -days $days -out other-name.pem \
    -addext 'subjectAltName=DNS:other.example.com'
mkdir -p ca && : >ca/index.txt && echo 01 >ca/serial
printf '[ca]\ndefault_ca=d\n[d]\ndatabase=ca/index.txt\nserial=ca/serial\nnew_certs_dir=ca\ndefault_md=sha256\npolicy=p\n[p]\ncommonName=supplied\n' >ca.cnf
openssl req -new -key self-signed.key.pem -subj /CN=expired -out expired.csr
openssl ca -batch -config ca.cnf -selfsign -keyfile self-signed.key.pem -in expired.csr -extfile ext.txt \
    -startdate 20200101000000Z -enddate 20200201000000Z -notext -out expired.pem
# A P-521 server certificate and key, which also serve as a client's.
printf '%s\nbasicConstraints=CA:FALSE\n' "$san" >ext.txt
openssl req -new -key p521.key.pem -subj /CN=p521 |
    openssl x509 -req -CA authority.pem -CAkey authority.key.pem -set_serial 3 -days $days -extfile ext.txt -out p521.pem
# Client certificates: v3, and v1 because there are no extensions.
printf 'extendedKeyUsage=clientAuth\n' >ext.txt
openssl req -new -key client.key.pem -subj /CN=client |
    openssl x509 -req -CA authority.pem -CAkey authority.key.pem -set_serial 4 -days $days -extfile ext.txt -out client.pem
openssl req -new -key client.key.pem -subj /CN=client |
    openssl x509 -req -CA authority.pem -CAkey authority.key.pem -set_serial 5 -days $days -out client-v1.pem
# The forms in which keys are kept: SEC1 alone and behind its parameters, RSA in PKCS#1 and PKCS#8, Ed25519.
openssl ec -in client.key.pem -out client.sec1.key.pem
{ openssl ecparam -name prime256v1 && cat client.sec1.key.pem; } >client.parameters.key.pem
openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out rsa.key.pem
openssl rsa -in rsa.key.pem -traditional -out rsa.pkcs1.key.pem
openssl genpkey -algorithm ed25519 -out ed25519.key.pem
for name in rsa ed25519; do
    openssl req -new -key $name.key.pem -subj /CN=$name |
        openssl x509 -req -CA authority.pem -CAkey authority.key.pem -set_serial "$(printf '%s' $name | cksum | cut -d' ' -f1)" \
            -days $days -extfile ext.txt -out $name.pem
done
rm -rf ext.txt ca ca.cnf expired.csr authority.key.pem other-name.key.pem.tmp
