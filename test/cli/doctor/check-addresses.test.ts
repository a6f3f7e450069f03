import { createServer } from 'node:http';
import { expect, test } from 'vitest';
import { checkAddresses } from '../../../src/cli/doctor/check-services.ts';
import { readConfig } from '../../../src/config/config.ts';
import { listenOnLoopback } from '../../mcp/listen-on-loopback.ts';

test('a program on the port that gives no answer is a problem, and a port without a program is not', async () => {
  const mute = await listenOnLoopback(createServer(({ socket }) => socket.destroy()));
  const config = readConfig({ PORT: new URL(mute.url).port }, null);
  const look = () => checkAddresses(config, new AbortController().signal);
  expect(await look()).toMatchObject([
    { status: 'problem', message: expect.stringMatching(/does not answer .* \(broken off\)/) },
    false,
  ]);
  await mute.close();
  expect(await look()).toMatchObject([
    { status: 'ok', message: expect.stringMatching(/^No gateway runs/) },
    false,
  ]);
});
