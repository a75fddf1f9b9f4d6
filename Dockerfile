# Tidings as a container image: every way to run it, by its settings. There is nothing to build: the sources run as they are.

# Only its npm is used; it brings the packages, and the Node that runs Tidings, as the lock file pins them.
FROM node:24.18.0-bookworm-slim AS packages
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# No package needs a script of its own; ours links that Node.
# Then goes what a compiler would need, and what other systems would.
RUN npm ci --omit=dev --ignore-scripts \
  && npm run postinstall \
  && rm -rf node_modules/node-linux-*/include node_modules/node-linux-*/share \
    node_modules/better-sqlite3/deps node_modules/better-sqlite3/src \
  && find node_modules/better-sqlite3/prebuilds -name '*.node' ! -name 'linux-*.node' -delete

FROM debian:bookworm-20251229-slim
# What Node's binary is linked to; and one who owns nothing but the data.
RUN apt-get update \
  && apt-get install --yes --no-install-recommends libstdc++6 \
  && rm -rf /var/lib/apt/lists/* \
  && groupadd --gid 10001 tidings \
  && useradd --uid 10001 --gid tidings --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin tidings \
  && install --directory --owner=tidings --group=tidings --mode=700 /data /var/cache/tidings
WORKDIR /app
COPY --from=packages /app ./
COPY bin ./bin
COPY src ./src
ENV HOST=0.0.0.0 PORT=8080 DATA_DIR=/data NODE_COMPILE_CACHE=/var/cache/tidings
# By number, so that a machine can see that it is not root.
USER 10001:10001
# The bundles of packages and sources and what Node makes of them, for whoever runs them; a container need not write there. What
# Node makes of the bundler is not wanted.
RUN NODE_DISABLE_COMPILE_CACHE=1 node_modules/.bin/node bin/warm-up.ts
# The embedded store and log; empty where DATABASE_URL is set.
VOLUME ["/data"]
EXPOSE 8080
# Only that the process answers: one that waits for its database gets no better by a restart. Who sends requests here asks
# /readyz. The role `pipeline` answers nothing, and ends by itself when it cannot go on: switch this off for it.
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s --retries=3 \
  CMD ["node_modules/.bin/node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/healthz`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["/app/bin/tidings"]
CMD ["serve"]
