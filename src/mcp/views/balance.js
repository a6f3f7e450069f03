import { begin, callTool, host, make, refusalOf, say, show } from './bridge.js';

const refresh = async () => {
  try {
    showBalance(await callTool('get_balance', {}));
  } catch (error) {
    show(say(error.message, 'bad'));
  }
};

const button = make('button', { onclick: refresh }, 'Read again');

const showBalance = (result) => {
  const refusal = refusalOf(result);
  if (refusal !== null) return show(say(refusal, 'bad'));
  show(
    say('Available balance', 'soft'),
    say(`$${result.structuredContent.balance_usd}`, 'amount'),
    host.capabilities.serverTools ? make('div', { className: 'bar' }, button) : '',
  );
};

void begin('balance', showBalance);
