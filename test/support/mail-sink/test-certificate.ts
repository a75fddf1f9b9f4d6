// A certificate for localhost and 127.0.0.1 that nobody trusts unless a test says so. Its key is public: it protects nothing.

export const TEST_KEY = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgkXRkneAekarSFu3z
cuGe9+1uiONG9MPpQhfxBjfoWfGhRANCAAQyAskKpMvetlHQ6TV0kVCyLdnKD37Q
bL4vWwCAk/qX3pyPbbllYw/zMzjCcEZ/jdrAw7LCjvl49dUCzjCdOwlU
-----END PRIVATE KEY-----
`

export const TEST_CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIBmjCCAUGgAwIBAgIUeCpgboVvjqrlbi+nv/hYqtFHYJcwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyNzE4NDY0MloYDzIxMjYxMTAz
MTg0NjQyWjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAAQyAskKpMvetlHQ6TV0kVCyLdnKD37QbL4vWwCAk/qX3pyPbbllYw/z
MzjCcEZ/jdrAw7LCjvl49dUCzjCdOwlUo28wbTAdBgNVHQ4EFgQUdF6vrRiQyCAL
Tjyt6+G143EpmbowHwYDVR0jBBgwFoAUdF6vrRiQyCALTjyt6+G143EpmbowGgYD
VR0RBBMwEYIJbG9jYWxob3N0hwR/AAABMA8GA1UdEwEB/wQFMAMBAf8wCgYIKoZI
zj0EAwIDRwAwRAIgNk0K8zP+ru7sAdZTACxnSkfsJOwV9i0a396JB71z6mYCIG7S
hUKHxk9+aKdjrelK2z+xli0OCOiBvgvpmriLzYno
-----END CERTIFICATE-----
`
