import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createOutbound } from '../../src/http/create-outbound.ts';
import { systemClock } from '../../src/kit/clock.ts';
import { silentLog } from '../../src/kit/log.ts';
import { providerDefinitions } from '../../src/providers/index.ts';
import type { RemoteConfig } from '../../src/providers/remote-settings.ts';
import { createTokenCounter } from '../../src/providers/tokens/token-counter.ts';
import { createMovMaker } from '../../src/providers/video/to-mov.ts';

const timeouts = { connectMs: 1_000, firstByteMs: 1_000, idleMs: 1_000, totalMs: 1_000 };

describe.each(providerDefinitions)('a provider of type $type', (definition) => {
  it('describes each of its settings', () => {
    for (const [key, setting] of Object.entries(definition.settings.shape))
      expect({ [key]: setting.description }).toEqual({ [key]: expect.stringMatching(/^[a-z].{9,}/) });
  });

  it('opens a member for each service that it says it serves, and no others', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'causeway-provider-'));
    const outbound = createOutbound({ allowsLoopback: false, userAgent: 'test' });
    const counter = createTokenCounter({ log: silentLog });
    const movMaker = createMovMaker({ directory: folder });
    const config: RemoteConfig = {
      type: definition.type,
      baseUrl: 'http://127.0.0.1:1/v1',
      apiKey: null,
      timeouts,
    };
    const provider = await definition.create(config, {
      name: 'tried',
      clock: systemClock,
      log: silentLog,
      outbound,
      counter,
      movMaker,
    });
    const members = Object.keys(provider).filter((name) => name !== 'sweep' && name !== 'close');
    expect(members.sort()).toEqual([...definition.serves].sort());
    await Promise.all([provider.close(), outbound.close(), counter.close(), movMaker.close()]);
    await rm(folder, { recursive: true, force: true });
  });
});
