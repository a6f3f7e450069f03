import { Logging, LogLevel } from 'mediabunny';
import { serveCalls } from '../../../kit/threads/serve-calls.ts';
import { remux } from './remux.ts';

Logging.level = LogLevel.Silent;

serveCalls(remux);
