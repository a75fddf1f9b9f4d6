# Tidings as a container image: every way to run it, by its settings.

# Builds `dist/` from the sources, then keeps only what runs it: packages, among them the Node that the lock file pins.
FROM node:24.18.0-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# No package needs a script of its own.
RUN npm ci --ignore-scripts
COPY rolldown.config.ts ./
COPY bin ./bin
COPY src ./src
COPY dashboard ./dashboard
# `postinstall` links that Node; it would build the dashboard again. The last two lines remove what only a compiler or another system
# would need.
RUN npm run build \
  && npm prune --omit=dev --ignore-scripts \
  && rm -r dashboard \
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
  && install --directory --owner=tidings --group=tidings --mode=700 /data
WORKDIR /app
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/bin ./bin
# Without `src`, so `bin/tidings` runs `dist`.
COPY --from=build /app/dist ./dist
ENV HOST=0.0.0.0 PORT=8080 DATA_DIR=/data
# By number, so that a machine can see that it is not root.
USER 10001:10001
# The embedded store and log; empty where DATABASE_URL is set.
VOLUME ["/data"]
EXPOSE 8080
# Only that the process answers: one that waits for its database gets no better by a restart. Who sends requests here asks
# /readyz. The role `pipeline` answers nothing, and ends by itself when it cannot go on: switch this off for it.
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s --retries=3 \
  CMD ["node_modules/.bin/node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/healthz`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["/app/bin/tidings"]
CMD ["serve"]
