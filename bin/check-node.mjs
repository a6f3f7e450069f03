import { fileURLToPath } from 'url';
import { isSupported, oldNodeMessage } from './supported-node.mjs';

/** Builds at the end of an install, and loads the gateway once, so that V8's code cache serves the first start too. */
const prepare = async () => {
  await import('./keep-compiled.mjs');
  const { build } = await import('./build.mjs');
  build();
  const { buildConsole } = await import('./build-console.mjs');
  await buildConsole();
  for (const name of ['services', 'app']) await import(`../build/gateway/${name}.js`);
  if (!(process.env.npm_config_omit ?? '').split(/\s+/).includes('dev')) return;
  const { prune } = await import('./prune.mjs');
  prune(fileURLToPath(new URL('../node_modules', import.meta.url)));
  process.stdout.write(
    'Types and source maps are left out of node_modules: for development, run "npm ci".\n',
  );
};

if (process.env.npm_lifecycle_event === 'prepare') {
  // npm runs this at the end of an install, under the Node that the install brought, where it could.
  const npmNode = / node\/(v\S+)/.exec(process.env.npm_config_user_agent ?? '')?.[1] ?? process.version;
  if (!isSupported(process.version)) process.stdout.write(`${oldNodeMessage(process.version)}\n`);
  else {
    if (!isSupported(npmNode)) {
      process.stdout.write(
        `npm ran on Node ${npmNode}, but Causeway runs on the Node ${process.version} that this install brought: EBADENGINE warnings need no action.\n`,
      );
    }
    prepare().catch((error) =>
      process.stdout.write(`Causeway is built at its first start: ${error.message}\n`),
    );
  }
} else if (!isSupported(process.version)) {
  process.stderr.write(`${oldNodeMessage(process.version)}\n`);
  process.exit(1);
}
