import { expect, it, onTestFinished } from 'vitest';
import { hostileProgram } from './mount-yaml.ts';
import { startMountingGateway } from './start-mounting-gateway.ts';

it('readiness tells which mounted servers are down, and the gateway is ready all the same', async () => {
  const gateway = await startMountingGateway({
    dead: { args: ['-e', 'process.exit(1)'] },
    hostile: { args: [hostileProgram] },
    silent: { args: ['-e', 'setInterval(() => {}, 1000)'], answer_ms: 600_000 },
  });
  onTestFinished(() => gateway.stop());
  const read = async (): Promise<unknown> => {
    const response = await gateway.call('/health/ready');
    return { status: response.status, body: await response.json() };
  };
  await expect.poll(read).toMatchObject({
    status: 200,
    body: {
      ready: true,
      mounts: [
        { server: 'dead', state: 'down' },
        { server: 'hostile', state: 'ready' },
        { server: 'silent', state: 'starting' },
      ],
    },
  });
});
