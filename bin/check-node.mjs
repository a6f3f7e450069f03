import { isSupported, oldNodeMessage } from './supported-node.mjs';

if (process.env.npm_lifecycle_event === 'prepare') {
  // npm runs this at the end of an install, under the Node that the install brought, where it could.
  const npmNode = / node\/(v\S+)/.exec(process.env.npm_config_user_agent ?? '')?.[1] ?? process.version;
  if (!isSupported(process.version)) process.stdout.write(`${oldNodeMessage(process.version)}\n`);
  else if (!isSupported(npmNode)) {
    process.stdout.write(
      `npm ran on Node ${npmNode}, but Causeway runs on the Node ${process.version} that this install brought: EBADENGINE warnings need no action.\n`,
    );
  }
} else if (!isSupported(process.version)) {
  process.stderr.write(`${oldNodeMessage(process.version)}\n`);
  process.exit(1);
}
