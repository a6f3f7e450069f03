import { describeInterruptions } from './describe-interruptions.ts';

describeInterruptions('base');
