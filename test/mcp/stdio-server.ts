import { createAuthenticate } from '../../src/accounts/authenticate.ts';
import { readConfig } from '../../src/config/config.ts';
import { createLog } from '../../src/kit/log.ts';
import { serveStdio } from '../../src/mcp/serve-stdio.ts';
import { operations } from '../operations/test-operations.ts';
import { createServices } from '../../src/gateway/services.ts';

// A gateway for one local assistant, as a process of its own.
const config = readConfig(process.env, null);
const services = await createServices(config, createLog('debug'));
services.listeningAt('http://127.0.0.1:8402');
services.begin();
await serveStdio({
  services,
  operations,
  authenticate: createAuthenticate(services),
  apiKey: process.env['CAUSEWAY_API_KEY'] ?? null,
});
await services.drain();
await services.close();
