import { runChecks } from '../../../src/cli/doctor/run-checks.ts';
import { loadConfig } from '../../../src/config/load-config.ts';

/** Prints what the doctor finds as a user whom nothing belongs to, if root runs this; else as this user. */
const config = await loadConfig(process.env, {});
if (process.getuid?.() === 0) process.setuid?.(65_534);
process.stdout.write(JSON.stringify(await runChecks(async () => config)));
